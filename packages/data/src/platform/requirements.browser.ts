import { notInBrowser } from '@acc/platform';

/**
 * Refuses options that a page cannot follow.
 *
 * @throws AccError `ACC_NOT_IN_BROWSER`.
 */
export function requireAvailable(options: object): void {
  for (const [name, value] of Object.entries(options)) {
    const isRefused = ['prefetch', 'numWorkers', 'dispatch'].includes(name) && Boolean(value);
    if (isRefused) throw notInBrowser(`'${name}' needs Node.js`, 'Leave it out.');
  }
}
