/**
 * What a rank exits with that was asked to end and has saved its run, so that it can be started again: EX_TEMPFAIL of sysexits.h,
 * "try again".
 */
export const SAVED_EXIT_CODE = 75;
