// Which packages users install. All others are private: they exist in the repository only, and the
// tarball of one published package, the host, contains each of them. DESIGN.md in this folder has the reasons.

/**
 * The host of each private package, both by their folders in `packages`. Every published package that
 * imports a private one depends on its host, or is the host.
 */
export const HOSTS = {
  'big-model': 'core',
  compile: 'core',
  config: 'cli',
  'context-parallel': 'core',
  deterministic: 'core',
  'engine-tfjs-node': 'core',
  experts: 'core',
  formats: 'data',
  monitor: 'core',
  optimizers: 'core',
  pipeline: 'core',
  placement: 'fsdp',
  platform: 'contract',
  profile: 'core',
  records: 'cli',
  schedule: 'core',
  'sharding-rules': 'core',
  tape: 'kernels',
  'tensor-parallel': 'core',
  'tfjs-internals': 'contract',
  tracker: 'checkpoint',
};

/** The folders of the private packages that a package hosts, sorted. */
export const hostedBy = (folder) => Object.keys(HOSTS).filter((name) => HOSTS[name] === folder);

/** The name under which others find a package of ours after the installation: `@acc/tape` → `@acc/kernels`. */
export function installedName(name) {
  const host = name.startsWith('@acc/') ? HOSTS[name.slice('@acc/'.length)] : undefined;
  return host === undefined ? name : `@acc/${host}`;
}
