/** Variables that launchers set and ranks read. */
const LAUNCHER_VARIABLES = [
  'RANK',
  'LOCAL_RANK',
  'WORLD_SIZE',
  'LOCAL_WORLD_SIZE',
  'GROUP_RANK',
  'GROUP_WORLD_SIZE',
  'MASTER_ADDR',
  'MASTER_PORT',
  'OMP_NUM_THREADS',
  'CUDA_VISIBLE_DEVICES',
  'NODE_OPTIONS',
  'GLOO_SOCKET_IFNAME',
];

const SECRET_NAME = /TOKEN|SECRET|PASSWORD|PASSWD|KEY|CREDENTIAL/i;

/** The relevant variables, sorted. Secrets, and user names and passwords in URLs, are hidden. */
export function visibleVariables(env: NodeJS.ProcessEnv): Record<string, string> {
  const names = Object.keys(env).filter(
    (name) => name.startsWith('ACC_') || LAUNCHER_VARIABLES.includes(name),
  );
  return Object.fromEntries(names.sort().map((name) => [name, visibleValue(name, env[name] ?? '')]));
}

function visibleValue(name: string, value: string): string {
  if (SECRET_NAME.test(name)) return '(set)';
  return value.replace(/(\/\/)[^/@\s]*@/g, '$1(hidden)@');
}
