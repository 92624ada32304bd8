import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, posix } from 'node:path';
import { figures } from '../figures/figures.mjs';
import { codesInSources, errorEntries, ERRORS } from './error-codes.mjs';
import { anchorOf, outsideOfCode, withErrorLinks, withSiteLinks } from './links.mjs';
import {
  designedPackages,
  filesUnder,
  packageFolders,
  packageName,
  pagesFolder,
  read,
  root,
  site,
} from './repository.mjs';

/** Documents of the repository that are pages of the site, by the path of the page. */
const DOCUMENTS = {
  'guide/engines.md': 'docs/engines.md',
  'guide/browser.md': 'docs/browser.md',
  'guide/k-ranks.md': 'docs/when-k-ranks-equal-one.md',
  'guide/tfjs-examples.md': 'docs/tfjs-examples.md',
  'guide/examples.md': 'examples/README.md',
  'write/tracker-guide.md': 'packages/create-acc-tracker/GUIDE.md',
  'project/architecture.md': 'ARCHITECTURE.md',
  'project/contributing.md': 'CONTRIBUTING.md',
  'project/security.md': 'SECURITY.md',
  'project/readme.md': 'README.md',
  'project/changelog.md': 'packages/core/CHANGELOG.md',
  'project/packages.md': 'docs/packages.md',
  'project/bench.md': 'bench/README.md',
};

/** The pages of the site but those of the API: `{ path, source }`. */
export function pages() {
  const under = (folder, ending) => filesUnder(join(root, folder)).filter((path) => path.endsWith(ending));
  return [
    ...under('site/docs', '.md').map((path) => ({ path, source: `site/docs/${path}` })),
    ...Object.entries(DOCUMENTS).map(([path, source]) => ({ path, source })),
    ...packageFolders.map((folder) => ({
      path: `packages/${folder}.md`,
      source: `packages/${folder}/README.md`,
    })),
    ...designedPackages.map((folder) => ({
      path: `design/${folder}.md`,
      source: `packages/${folder}/DESIGN.md`,
    })),
    ...under('bench/results', '.md').map((path) => ({
      path: `results/${path}`,
      source: `bench/results/${path}`,
    })),
  ];
}

const HOW_TO_LINK =
  'A link names a document by its path from the folder of the one that it is in, with .md at the end, ' +
  'so that it also works where the repository is read: ../../../packages/ddp/README.md.';

/**
 * The texts of all pages but those of the API, by path, from the documents as they are now.
 *
 * @throws Error that names all links that lead nowhere.
 */
export function pageTexts() {
  const all = pages();
  const pageOf = new Map(all.map(({ path, source }) => [source, path]));
  for (const path of filesUnder(join(root, 'bench/results')).filter((name) => name.endsWith('.svg'))) {
    pageOf.set(`bench/results/${path}`, `results/${path}`);
  }
  const errors = [];
  const texts = new Map();
  for (const page of all) {
    try {
      texts.set(page.path, linked(page.path, contentOf(page, pageOf)));
    } catch (error) {
      errors.push(error.message);
    }
  }
  if (errors.length > 0) throw new Error(`${errors.join('\n')}\n${HOW_TO_LINK}`);
  return texts;
}

/** Writes all pages but those of the API. @throws As {@link pageTexts}. */
export function writePages() {
  for (const [path, text] of pageTexts()) write(path, text);
  cpSync(join(root, 'bench/results'), join(pagesFolder, 'results'), {
    recursive: true,
    filter: (path) => !/\.(md|json)$/.test(path),
  });
  cpSync(join(site, 'public'), join(pagesFolder, 'public'), { recursive: true });
}

/** Links error codes of the pages of the API, which TypeDoc has written. */
export function linkApiPages() {
  for (const name of filesUnder(join(pagesFolder, 'api'))) {
    const path = `api/${name}`;
    write(path, linked(path, readFileSync(join(pagesFolder, path), 'utf8')));
  }
}

function linked(path, text) {
  if (path.startsWith(`${ERRORS}/`)) return text;
  const up = posix.relative(posix.dirname(path), ERRORS);
  const entries = errorEntries().map(({ code, page }) => [code, `${up}/${page}#${anchorOf(code)}`]);
  return withErrorLinks(text, new Map(entries));
}

export function removePages() {
  rmSync(pagesFolder, { recursive: true, force: true });
}

function contentOf(page, pageOf) {
  const text = withInstallNote(withSiteLinks(read(page.source), page, pageOf), page.path);
  const drawn = outsideOfCode(text, withFigures);
  const isOwn = page.source.startsWith('site/docs/');
  if (!isOwn) return withoutVue(drawn);
  if (!page.path.startsWith(`${ERRORS}/`)) return drawn;
  if (page.path === `${ERRORS}/index.md`) return withErrorIndex(drawn);
  return `---\npageClass: errors\n---\n\n${withThrowers(drawn)}`;
}

/** Readers of errors have installed the packages, and those of the project have a checkout. */
const INSTALLED = /^(errors|project|results|design)\//;
const INSTALLS = /\b(npm install|npm i|pnpm add|yarn add|bun add) (-\S+ )*@acc\//;

/** Names the page on installing above the first `npx acc`, which could be another package's command. */
function withInstallNote(text, path) {
  const first = text.search(/\bnpx acc\b/);
  if (first < 0 || INSTALLED.test(path) || INSTALLS.test(text.slice(0, first))) return text;
  const link = posix.relative(posix.dirname(path), 'install.md');
  const note = `The commands on this page need the [installed packages](${link}).`;
  return text.replace(/^# .*$/m, (title) => `${title}\n\n<div class="needs-install">\n\n${note}\n\n</div>`);
}

/** Documents that are written for other readers may have braces, which Vue would evaluate. */
const withoutVue = (text) => outsideOfCode(text, (part) => part.replaceAll('{{', '&#123;&#123;'));

/** Puts drawings in the places of `<!-- figure: name -->`. */
function withFigures(text) {
  return text.replace(/^<!-- figure: ([\w-]+) -->$/gm, (_, name) => {
    const draw = figures[name];
    if (!draw) throw new Error(`There is no figure '${name}'.`);
    const { svg, caption } = draw();
    return `<figure class="drawn">${svg}<figcaption>${caption}</figcaption></figure>`;
  });
}

/** Adds the packages that throw each code below its heading. */
function withThrowers(text) {
  const codes = codesInSources();
  return text.replace(/^## (ACC_\w+)$/gm, (heading, code) => {
    // The test kit checks that others throw codes.
    const folders = [...(codes.get(code) ?? [])];
    const throwers = folders.length > 1 ? folders.filter((folder) => folder !== 'testkit') : folders;
    const links = throwers.map((folder) => `[${packageName(folder)}](../packages/${folder}.md)`);
    return `${heading}\n\n<div class="thrown-by">\n\n${links.join(' · ')}\n\n</div>`;
  });
}

/** Puts the list of all codes in the place of `<!-- errors -->`. */
function withErrorIndex(text) {
  const items = errorEntries()
    .sort((a, b) => (a.code < b.code ? -1 : 1))
    .map(({ code, page }) => `- [\`${code}\`](./${page}#${anchorOf(code)})`);
  return text.replace('<!-- errors -->', `<div class="codes">\n\n${items.join('\n')}\n\n</div>`);
}

function write(path, text) {
  const file = join(pagesFolder, path);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
}
