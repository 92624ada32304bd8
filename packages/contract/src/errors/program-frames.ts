/** The number of the program's frames that a stack keeps. */
const MOST_FRAMES = 3;
/** The number of frames that a stack keeps if the program has none. */
const FIRST_FRAMES = 4;

/** The folder of this project's packages: `packages/` of a checkout, or `node_modules/@acc/`. */
const OURS = import.meta.url.replace('file://', '').replace(/contract\/(src|dist)\/.*$/, '');

/**
 * A stack with the program's own frames: those outside of `node_modules`, of Node.js and of this
 * project's packages. Without any, it keeps the first frames.
 */
export function programStack(stack: string): string {
  const lines = stack.split('\n');
  const first = lines.findIndex((line) => /^\s+at /.test(line));
  if (first < 0) return stack;
  const frames = lines.slice(first);
  const own = frames.filter(isProgram).slice(0, MOST_FRAMES);
  return [...lines.slice(0, first), ...(own.length > 0 ? own : frames.slice(0, FIRST_FRAMES))].join('\n');
}

function isProgram(frame: string): boolean {
  const path = frame.replaceAll('\\', '/').replace('file://', '');
  if (!/:\d+:\d+\)?$/.test(path) || path.includes('/node_modules/') || /[( ]node:/.test(path)) return false;
  // In a checkout, tests lie beside the sources.
  return path.includes('.test.') || !isOurs(path);
}

function isOurs(frame: string): boolean {
  const [, path] = OURS.endsWith('/') ? frame.split(OURS) : [];
  return path !== undefined && /^[\w-]+\/(src|dist)\//.test(path);
}
