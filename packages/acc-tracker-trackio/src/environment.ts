import type { TrackioOptions } from './trackio-server.js';

/** Reads the environment variables that Trackio itself uses. */
export function readTrackioEnvironment(): TrackioOptions {
  const { TRACKIO_SERVER_URL: url, TRACKIO_WRITE_TOKEN: writeToken } = process.env;
  return { ...(url && { url }), ...(writeToken && { writeToken }) };
}
