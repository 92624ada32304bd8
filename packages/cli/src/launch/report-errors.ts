// Loaded by a rank before its program.
import { endByUncaught } from '@acc/platform/uncaught';

const { ACC_ERROR_FILE: file } = process.env;
// A process that the program starts is no rank.
delete process.env.ACC_ERROR_FILE;
endByUncaught(file);
