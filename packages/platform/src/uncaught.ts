export { describeError } from './uncaught/describe-error.js';
export { readReport, type ErrorReport } from './uncaught/error-report.js';
export { wrapSteps, wrapText, type WrappedFor } from './uncaught/wrap-steps.js';
export {
  asOwn,
  endByUncaught,
  hasOtherListeners,
  reportUncaught,
  tellUncaught,
} from './uncaught/uncaught.js';
