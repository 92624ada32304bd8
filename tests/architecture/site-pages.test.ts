import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { sidebars } from '../../site/.vitepress/sidebar.mjs';
import { pages, pageTexts } from '../../site/scripts/pages.mjs';
import { root } from './reading/repository.js';

/** The start page, the README, which is for readers of the repository, and reports of benchmarks. */
const NOT_LISTED = /^(index\.md|project\/readme\.md|results\/.*)$/;

it('every page of the site has a line in site/.vitepress/sidebar.mjs', () => {
  const listed = new Set(
    Object.values(sidebars())
      .flat()
      .flatMap(({ link, items = [] }) => [link, ...items.map((item) => item.link)]),
  );
  const missing = pages()
    .map(({ path }) => path)
    .filter((path) => !NOT_LISTED.test(path) && !listed.has(`/${path.replace(/(index)?\.md$/, '')}`));
  expect(missing, 'readers cannot find these pages: site/.vitepress/sidebar.mjs does not name them').toEqual(
    [],
  );
  expect(listed.size).toBeGreaterThan(100);
});

it('the links of pages lead to pages or files', () => {
  expect(pageTexts).not.toThrow();
});

it('no page shows `npx acc` before the install step', () => {
  // Readers of errors have installed the packages, and those of the project have a checkout.
  const shown = [...pageTexts()].filter(
    ([path, text]) => !/^(errors|project|results|design)\//.test(path) && /\bnpx acc\b/.test(text),
  );
  const early = shown.filter(
    ([, text]) => !/install @acc\/|\]\([./]*install\.md\)/.test(text.slice(0, text.search(/\bnpx acc\b/))),
  );
  expect(early.map(([path]) => path)).toEqual([]);
  expect(shown.length).toBeGreaterThan(10);
  // The pictures stand above the install step.
  const drawn = readdirSync(join(root, 'site', 'figures')).map((name) => join(root, 'site', 'figures', name));
  expect(drawn.filter((path) => readFileSync(path, 'utf8').includes('npx acc'))).toEqual([]);
});
