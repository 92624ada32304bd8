import { posix } from 'node:path';
import { ReferenceReflection, ReflectionKind } from 'typedoc';
import { anchorOf } from '../links.mjs';
import { packageName } from '../repository.mjs';
import { compareUses, MEMBERS, titleOf } from './uses.mjs';

/**
 * The text of a page of the API, from the one of typedoc-plugin-markdown.
 *
 * @param page The event at the end of a page: `{ model, url, contents }`.
 * @param urlOf The path of a reflection from the folder of the API, with its anchor.
 */
export function pageText({ model, url, contents }, urlOf) {
  const link = (reflection) => relative(url, urlOf(reflection));
  if (model.kind !== ReflectionKind.Module) return contents;
  const children = model.children ?? [];
  if (children.some(({ kind }) => kind === ReflectionKind.Module)) return landing(model, link);
  const body = withAnchors(shortened(contents.replace(/^# .*\n/m, '')), children, urlOf);
  const isPackage = model.parent.isProject();
  const title = isPackage ? packageName(model.name) : useTitle(model);
  const about = isPackage
    ? `Its [README](../packages/${model.name}.md) describes the package.`
    : `From [${packageName(model.parent.name)}](./index.md).`;
  const [only] = children;
  if (children.length === 1 && only.kindOf(TYPES)) {
    return joined([`# ${title}`, about, withMembers(alone(body, only), only, 2)]);
  }
  const tables = children
    .filter((child) => child.kindOf(TYPES))
    .reduce((text, one) => withMembers(text, one, 3), body);
  return joined([`# ${title}`, about, namesTable('name', children, link), tables]);
}

const TYPES = ReflectionKind.Class | ReflectionKind.Interface;

const useTitle = (use) =>
  titleOf(
    use.name,
    use.children.map(({ name }) => name),
  );

const joined = (parts) => `---\npageClass: api\n---\n\n${parts.filter(Boolean).join('\n\n')}\n`;

/** The page of a package whose names are on a page for each use. */
function landing(model, link) {
  const rows = model.children
    .map((use) => ({ use, title: useTitle(use) }))
    .sort((a, b) => compareUses(a.title, b.title))
    .map(({ use, title }) => {
      const names = use.children
        .toSorted(byName)
        .map((child) => [child.name, `[\`${child.name}\`](${link(child)})`]);
      return `| [${title}](${link(use)}) | ${[...new Map(names.toReversed()).values()].toReversed().join(', ')} |`;
    });
  return joined([
    `# ${packageName(model.name)}`,
    `Its [README](../../packages/${model.name}.md) describes the package.`,
    ['| page | names |', '| --- | --- |', ...rows].join('\n'),
  ]);
}

const byName = (a, b) => (a.name.toLowerCase() < b.name.toLowerCase() ? -1 : 1);

/** Names headings as links name them, where a function and a type differ in case only. */
function withAnchors(text, children, urlOf) {
  return children.reduce((before, child) => {
    const anchor = urlOf(child).split('#')[1];
    if (anchor === undefined || anchor === anchorOf(child.name)) return before;
    const heading = `### ${child.name}${child.kind === ReflectionKind.Function ? '()' : ''}`;
    return before.replace(`\n${heading}\n`, `\n${heading} {#${anchor}}\n`);
  }, text);
}

/** The body of a page whose only name is a class: its headings are two levels higher. */
function alone(body, { name }) {
  return body
    .replace(/^## (Classes|Interfaces)\n+/m, '')
    .replace(new RegExp(`^### ${name}\\n+`, 'm'), '')
    .replace(/^##(#+ )/gm, '$1');
}

/** Puts the tables of a class's members below its description. */
function withMembers(text, model, level) {
  const groups = membersOf(model);
  if (groups.length === 0) return text;
  const start = level === 2 ? 0 : positionOf(text, `^### (\`abstract\` )?${model.name}( \\{.*)?$`);
  const heading = '#'.repeat(level === 2 ? 2 : 4);
  const at = start + positionOf(text.slice(start), `^${heading} (Constructors|Properties|Methods)$`);
  const anchors = anchorsBelow(text, at);
  const link = ({ name }) => `#${anchors.get(anchorOf(name))}`;
  const tables = groups.map(([title, members]) => namesTable(title, members, link)).join('\n\n');
  return `${text.slice(0, at)}${heading} Members\n\n${tables}\n\n${text.slice(at)}`;
}

/** The position of the first line that matches. */
function positionOf(text, pattern) {
  const position = text.search(new RegExp(pattern, 'm'));
  if (position < 0) throw new Error(`No heading matches ${pattern}`);
  return position;
}

/** The anchors of the headings from a position on: the first of each name. Repeated ones are numbered. */
function anchorsBelow(text, position) {
  const counts = new Map();
  const anchors = new Map();
  for (const { 1: heading, index } of text.matchAll(/^#+ (.*)$/gm)) {
    const anchor = anchorOf(heading);
    const count = counts.get(anchor) ?? 0;
    counts.set(anchor, count + 1);
    if (index < position || anchors.has(anchor)) continue;
    anchors.set(anchor, count === 0 ? anchor : `${anchor}-${count}`);
  }
  return anchors;
}

/** The methods of a class by use. Properties have a table of their own. */
function membersOf(model) {
  const methods = (model.children ?? []).filter(({ kind }) => kind === ReflectionKind.Method);
  const uses = MEMBERS[model.name];
  if (!uses) return methods.length > 2 ? [['method', methods]] : [];
  const known = uses.flatMap(([, names]) => names);
  const others = methods.filter(({ name }) => !known.includes(name));
  const groups = uses.map(([use, names]) => [
    use,
    names.map((name) => methods.find((method) => method.name === name)).filter(Boolean),
  ]);
  return [...groups, ['Other', others]].filter(([, members]) => members.length > 0);
}

function namesTable(title, members, link) {
  const rows = new Map(
    members.map((one) => [
      one.name,
      `| [\`${one.name}\`](${link(one)}) | ${firstSentence(one).replaceAll('|', '\\|')} |`,
    ]),
  );
  return [`| ${title} | |`, '| --- | --- |', ...rows.values()].join('\n');
}

function firstSentence(reflection) {
  const described =
    reflection instanceof ReferenceReflection ? reflection.getTargetReflectionDeep() : reflection;
  const comment = described.signatures?.[0]?.comment ?? described.comment;
  const [text] = (comment?.summary ?? [])
    .map((part) => part.text)
    .join('')
    .split('\n\n');
  const sentence = /^.*?(?<!\b(?:al|e\.g|i\.e))\.(?=\s|$)/s.exec(text)?.[0] ?? text;
  return sentence.replaceAll('\n', ' ').trim().replace(/:$/, '.');
}

/** Without the sections that only repeat the type of a signature above them. */
function shortened(text) {
  return text
    .replace(/^#+ Returns\n\n[^\n#|]*\n\n(?=#|\*\*\*|$)/gm, (section) =>
      /^#+ Returns\n\n(`|\[`|\\|[A-Za-z]+\\<|\()/.test(section) ? '' : section,
    )
    .replace(/^#+ Type Parameters\n\n\| Type Parameter \|\n\| -+ \|\n(\|[^\n]*\|\n)+\n?/gm, '')
    .replace(/^#+ (Inherited from|Overrides)\n\n[^\n#]*\n\n?/gm, '')
    .replace(/^\*\*\*\n+/gm, '');
}

function relative(from, to) {
  const [path, anchor] = to.split('#');
  const file = path === from ? '' : posix.relative(posix.dirname(from), path);
  const dotted = file === '' || file.startsWith('.') ? file : `./${file}`;
  return anchor === undefined ? dotted : `${dotted}#${anchor}`;
}
