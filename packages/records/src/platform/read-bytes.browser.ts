import { notInBrowser } from '@acc/platform';

/** There are no records in a page. */
export function readBytes(): never {
  throw notInBrowser('Records are files of Node.js', 'Read them in Node.js.');
}
