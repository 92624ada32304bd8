const VARIABLES = {
  entity: 'WANDB_ENTITY',
  project: 'WANDB_PROJECT',
  group: 'WANDB_RUN_GROUP',
  jobType: 'WANDB_JOB_TYPE',
  notes: 'WANDB_NOTES',
} as const;

/** Reads the environment variables of the `wandb` package that apply here. */
export function readWandbEnvironment(): { [K in keyof typeof VARIABLES]?: string } & { upload?: 'never' } {
  const set = Object.entries(VARIABLES).filter(([, name]) => process.env[name]);
  const named = Object.fromEntries(set.map(([key, name]) => [key, process.env[name]]));
  const isOffline = ['offline', 'dryrun', 'disabled'].includes(process.env['WANDB_MODE'] ?? '');
  return { ...named, ...(isOffline && { upload: 'never' as const }) };
}
