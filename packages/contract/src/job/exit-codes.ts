/**
 * The exit code of a rank that was asked to end and has saved its run. The job can be started
 * again. It is EX_TEMPFAIL of sysexits.h.
 */
export const SAVED_EXIT_CODE = 75;
