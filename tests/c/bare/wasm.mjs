// Runs the module in the file that the first argument names, and exits with the result of its test.
import { readFileSync } from "node:fs";

const module = new WebAssembly.Module(readFileSync(process.argv[2]));
let text = "";
const host = { put: (c) => { text += String.fromCharCode(c); } };
const { exports } = new WebAssembly.Instance(module, { host });
const status = exports.test();
process.stdout.write(text);
process.exit(status);
