//! Python's symbols as weak ones: a program that is not Python can then load the module too, for the C functions and the
//! names of BLAS that it exports. `diptych.preload` has the children of a Python program load it, whatever they are.
//!
//! An undefined symbol is weak where it is in every object file, so this needs the one object of fat LTO. What the list
//! lacks, the loader of such a program names as an undefined symbol (`python/tests/test_preload.py`).

/// Declares symbols of the assembler weak.
macro_rules! weak {
    ($($name:ident)*) => {
        #[cfg(target_os = "linux")]
        std::arch::global_asm!($(concat!(".weak ", stringify!($name))),*);
    };
}

weak! {
    PyBaseObject_Type PyBool_Type PyBuffer_FillInfo PyBuffer_Release PyBytes_AsString PyBytes_Size PyBytes_Type
    PyCMethod_New PyCapsule_GetPointer PyCapsule_IsValid PyCapsule_New PyCapsule_SetName PyCapsule_Type PyDict_Copy
    PyDict_GetItemWithError PyDict_New PyDict_Next PyDict_SetItem PyDict_Size PyDict_Type PyErr_Clear
    PyErr_ExceptionMatches PyErr_Fetch PyErr_GivenExceptionMatches PyErr_NewExceptionWithDoc PyErr_NormalizeException
    PyErr_Occurred PyErr_PrintEx PyErr_Restore PyErr_SetObject PyErr_SetString PyErr_WarnEx PyErr_WriteUnraisable
    PyEval_RestoreThread PyEval_SaveThread PyExc_AttributeError PyExc_BaseException PyExc_BufferError PyExc_Exception
    PyExc_ImportError PyExc_MemoryError PyExc_OverflowError PyExc_RuntimeError PyExc_RuntimeWarning PyExc_SystemError
    PyExc_TypeError PyExc_ValueError PyException_SetCause PyException_SetTraceback PyFloat_AsDouble PyFloat_FromDouble
    PyFloat_Type PyGILState_Ensure PyGILState_Release PyImport_Import PyInterpreterState_Get PyInterpreterState_GetID
    PyIter_Next PyList_Append PyList_New PyList_SetItem PyList_Type PyLong_AsLong PyLong_AsLongLong
    PyLong_AsUnsignedLongLong PyLong_FromLong PyLong_FromSsize_t PyLong_FromUnsignedLongLong PyLong_Type
    PyMemoryView_FromObject PyModuleDef_Init PyModule_GetNameObject PyModule_Type PyNumber_AsSsize_t PyNumber_Index
    PyObject_Call PyObject_CallMethodObjArgs PyObject_CallNoArgs PyObject_CheckBuffer PyObject_DelItem
    PyObject_GC_UnTrack PyObject_GenericGetDict PyObject_GenericSetDict PyObject_GetAttr PyObject_GetBuffer
    PyObject_GetItem PyObject_GetIter PyObject_HasAttrString PyObject_IsTrue PyObject_Repr PyObject_SetAttr
    PyObject_SetAttrString PyObject_SetItem PyObject_Size PyObject_Str PySequence_Check PySequence_Contains
    PySequence_Tuple PyThreadState_Get PyTraceBack_Print PyTuple_GetItem PyTuple_New PyTuple_Pack PyTuple_SetItem
    PyTuple_Size PyTuple_Type PyType_FromSpec PyType_GetFlags PyType_GetName PyType_GetQualName PyType_GetSlot
    PyType_IsSubtype PyType_Type PyUnicode_AsEncodedString PyUnicode_AsUTF8AndSize PyUnicode_FromStringAndSize
    PyUnicode_InternFromString PyUnicode_InternInPlace PyUnicode_Type Py_IsInitialized Py_NewRef _Py_DecRef
    _Py_FalseStruct _Py_IncRef _Py_NoneStruct _Py_TrueStruct
}
