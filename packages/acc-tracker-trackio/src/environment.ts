import type { TrackioOptions } from './trackio-server.js';

/** What Trackio itself takes from the environment. */
export function readTrackioEnvironment(): TrackioOptions {
  const { TRACKIO_SERVER_URL: url, TRACKIO_WRITE_TOKEN: writeToken } = process.env;
  return { ...(url && { url }), ...(writeToken && { writeToken }) };
}
