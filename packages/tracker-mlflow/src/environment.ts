const VARIABLES = {
  url: 'MLFLOW_TRACKING_URI',
  experiment: 'MLFLOW_EXPERIMENT_NAME',
  runId: 'MLFLOW_RUN_ID',
  token: 'MLFLOW_TRACKING_TOKEN',
  username: 'MLFLOW_TRACKING_USERNAME',
  password: 'MLFLOW_TRACKING_PASSWORD',
} as const;

/** Reads the environment variables that MLflow's own client uses. */
export function readMlflowEnvironment(): { [K in keyof typeof VARIABLES]?: string } {
  const set = Object.entries(VARIABLES).filter(([, name]) => process.env[name]);
  return Object.fromEntries(set.map(([key, name]) => [key, process.env[name]]));
}
