export const sep = '/';

/** The absolute path. Relative paths start at the root of the page's files. */
export function resolve(...paths: string[]): string {
  const absolute = paths.findLastIndex((path) => path.startsWith('/'));
  return `/${partsOf(paths.slice(Math.max(absolute, 0)).join('/')).join('/')}`;
}

export function join(...paths: string[]): string {
  const joined = paths.filter((path) => path !== '').join('/');
  if (joined.startsWith('/')) return resolve(joined);
  return partsOf(joined).join('/') || '.';
}

export function dirname(path: string): string {
  const parts = path.replace(/\/+$/, '').split('/');
  parts.pop();
  if (parts.length === 0) return path.startsWith('/') ? '/' : '.';
  return parts.join('/') || '/';
}

export function basename(path: string): string {
  return path.replace(/\/+$/, '').split('/').at(-1)!;
}

/** The path from one folder to another place. */
export function relative(from: string, to: string): string {
  const [start, end] = [partsOf(resolve(from)), partsOf(resolve(to))];
  const differs = start.findIndex((part, i) => part !== end[i]);
  const common = differs < 0 ? start.length : differs;
  return [...start.slice(common).map(() => '..'), ...end.slice(common)].join('/');
}

/** The parts of a path, without those that `..` leaves. */
function partsOf(path: string): string[] {
  const isAbsolute = path.startsWith('/');
  const parts: string[] = [];
  for (const part of path.split('/')) {
    if (part === '' || part === '.') continue;
    if (part !== '..') parts.push(part);
    else if (parts.length > 0 && parts.at(-1) !== '..') parts.pop();
    else if (!isAbsolute) parts.push('..');
  }
  return parts;
}
