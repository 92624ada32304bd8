const VARIABLES = {
  workspace: 'COMET_WORKSPACE',
  project: 'COMET_PROJECT_NAME',
  dir: 'COMET_OFFLINE_DIRECTORY',
} as const;

/** Reads the environment variables that `comet_ml` uses. */
export function readCometEnvironment(): { [K in keyof typeof VARIABLES]?: string } {
  const set = Object.entries(VARIABLES).filter(([, name]) => process.env[name]);
  return Object.fromEntries(set.map(([key, name]) => [key, process.env[name]]));
}
