/** The suffix of files that are being written, or whose program ended before they were complete. */
export const UNFINISHED = '.unfinished';
