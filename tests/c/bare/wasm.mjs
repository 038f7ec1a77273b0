// Runs the module that the first argument names; ends with what its test returns.
import { readFileSync } from "node:fs";

const module = new WebAssembly.Module(readFileSync(process.argv[2]));
let text = "";
const host = { put: (c) => { text += String.fromCharCode(c); } };
const { exports } = new WebAssembly.Instance(module, { host });
const status = exports.test();
process.stdout.write(text);
process.exit(status);
