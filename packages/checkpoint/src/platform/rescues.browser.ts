import { notInBrowser } from '@acc/platform';

/** A page has no launcher that starts it again, so nothing calls these. */
function refuse(): never {
  throw notInBrowser('Keeping a run for a restart needs a launcher');
}

export const dropRescues = refuse;
export const findRescue = refuse;
export const receiveRescue = refuse;
export const writeRescue = refuse;
export const isFirstRefusal = refuse;
export const megabytes = refuse;
export const rescueMemory = refuse;
export const RunSnapshot = refuse;
