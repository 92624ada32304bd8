import { readFileSync } from 'node:fs';
import { join, posix } from 'node:path';
import { filesUnder } from './repository.mjs';

/**
 * The links of a built site whose page or anchor does not exist, as `page: link`. VitePress itself
 * checks pages only.
 *
 * @param base The path under which the site is served, for example `/`.
 */
export function deadLinks(folder, base) {
  const pages = new Map(
    filesUnder(folder)
      .filter((path) => path.endsWith('.html'))
      .map((path) => [path, readFileSync(join(folder, path), 'utf8')]),
  );
  const idsOf = new Map([...pages].map(([path, html]) => [path, idsIn(html)]));
  return [...pages].flatMap(([path, html]) =>
    hrefsIn(html)
      .filter((href) => !/^([a-z]+:|\/\/)/.test(href))
      .filter((href) => !exists(path, href))
      .map((href) => `${path}: ${href}`),
  );

  function exists(from, href) {
    const [file, anchor] = href.split('#');
    const path = file.startsWith(base) ? file.slice(base.length) : posix.join(posix.dirname(from), file);
    const target = file === '' ? from : path === '' || path.endsWith('/') ? `${path}index.html` : path;
    const ids = idsOf.get(target) ?? idsOf.get(`${target}.html`);
    if (!ids) return !target.endsWith('.html') && filesUnder(folder).includes(target);
    return anchor === undefined || anchor === '' || ids.has(decodeURIComponent(anchor));
  }
}

const idsIn = (html) => new Set(Array.from(html.matchAll(/\sid="([^"]+)"/g), ([, id]) => decoded(id)));
const hrefsIn = (html) =>
  Array.from(html.matchAll(/<a\b[^>]*\shref="([^"]+)"/g), ([, href]) => decoded(href));
const decoded = (text) => text.replaceAll('&amp;', '&').replaceAll('&quot;', '"').replaceAll('&#39;', "'");
