export { compileStep, type CompileContext, type CompiledStep } from './compile.js';
export { CompiledSteps } from './compiled-steps.js';
export { fusionOf, type CompileOptions } from './options.js';
