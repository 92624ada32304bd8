import { AccError } from '@acc/contract';

/**
 * The error for what needs a process of Node.js.
 *
 * @param what A clause: "engine 'acc' needs libtorch".
 * @param help The next step. Default: to run the program in Node.js.
 */
export function notInBrowser(what: string, help = 'Run this part of the program in Node.js.'): AccError {
  return new AccError('ACC_NOT_IN_BROWSER', `${what}, which a page in a browser does not have.`, { help });
}
