/** Reads the environment variables that Trackio itself uses. */
export function readTrackioEnvironment(): { url?: string; writeToken?: string } {
  const { TRACKIO_SERVER_URL: url, TRACKIO_WRITE_TOKEN: writeToken } = process.env;
  return { ...(url && { url }), ...(writeToken && { writeToken }) };
}
