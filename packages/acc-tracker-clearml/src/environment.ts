const VARIABLES = {
  url: 'CLEARML_API_HOST',
  filesUrl: 'CLEARML_FILES_HOST',
  accessKey: 'CLEARML_API_ACCESS_KEY',
  secretKey: 'CLEARML_API_SECRET_KEY',
} as const;

/** Reads the environment variables that ClearML's own client uses. */
export function readClearmlEnvironment(): { [K in keyof typeof VARIABLES]?: string } {
  const set = Object.entries(VARIABLES).filter(([, name]) => process.env[name]);
  return Object.fromEntries(set.map(([key, name]) => [key, process.env[name]]));
}
