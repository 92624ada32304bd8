import { existsSync } from 'node:fs';
import { join, posix } from 'node:path';
import { root } from './repository.mjs';

const FENCE = /^(```|~~~)[\s\S]*?^\1\s*$/gm;
const LINK = /(!?)\[((?:[^[\]]|\[[^\]]*\])*)\]\(([^()\s]+)\)/g;

/** Applies `change` to a text outside of its fenced code. */
export function outsideOfCode(text, change) {
  const parts = [];
  let end = 0;
  for (const fence of text.matchAll(FENCE)) {
    parts.push(change(text.slice(end, fence.index)), fence[0]);
    end = fence.index + fence[0].length;
  }
  return parts.concat(change(text.slice(end))).join('');
}

/**
 * Makes the links of a document of the repository work on its page: links to documents that have
 * pages lead there, links to other files of the repository become plain text.
 *
 * @param page `{ path, source }`: the path of the page, and of the document from the root.
 * @param pageOf The path of a document's page, by the path of the document.
 * @throws Error that names all links that lead nowhere.
 */
export function withSiteLinks(text, { path, source }, pageOf) {
  const dead = [];
  const change = (all, bang, label, target) => {
    if (/^(https?:|mailto:|#)/.test(target)) return all;
    const [file, anchor] = target.split('#');
    const wanted = posix.normalize(posix.join(posix.dirname(source), file));
    const link = pageOf.get(wanted) ?? pageOf.get(posix.join(wanted, 'README.md'));
    if (link !== undefined) {
      const relative = posix.relative(posix.dirname(path), link);
      const dotted = relative.startsWith('.') ? relative : `./${relative}`;
      return `${bang}[${label}](${dotted}${anchor === undefined ? '' : `#${anchor}`})`;
    }
    // Pages that are generated have no document.
    if (wanted.startsWith('site/docs/api/')) return all;
    if (existsSync(join(root, wanted))) return bang ? '' : label;
    dead.push(`${source}: [${label}](${target}) leads to ${wanted}, which is neither a page nor a file.`);
    return all;
  };
  const linked = outsideOfCode(text, (part) => part.replace(LINK, change));
  if (dead.length > 0) throw new Error(dead.join('\n'));
  return linked;
}

/**
 * Links codes of errors in running text to their entries.
 *
 * @param entryOf The path of a code's entry from the page, by code.
 */
export function withErrorLinks(text, entryOf) {
  const change = (code, name) => (entryOf.has(name) ? `[${code}](${entryOf.get(name)})` : code);
  // Neither in headings nor in links.
  const inLine = (line) =>
    /^#+ /.test(line) ? line : line.replace(/(?<!\[)`(ACC_[A-Z0-9_]+)`(?!\])/g, change);
  return outsideOfCode(text, (part) => part.split('\n').map(inLine).join('\n'));
}

/** The anchor of a heading, as GitHub forms it. */
export function anchorOf(heading) {
  return heading
    .trim()
    .toLowerCase()
    .replace(/[^\p{L}\p{M}\p{N}\p{Pc}\- ]/gu, '')
    .replaceAll(' ', '-');
}
