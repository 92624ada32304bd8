import { expect, it } from 'vitest';
import { sidebar } from '../../site/.vitepress/sidebar.mjs';
import { pages, pageTexts } from '../../site/scripts/pages.mjs';

/** The start page, the README, which is for readers of the repository, and reports of benchmarks. */
const NOT_LISTED = /^(index\.md|project\/readme\.md|results\/.*)$/;

it('every page of the site has a line in site/.vitepress/sidebar.mjs', () => {
  const listed = new Set(
    sidebar().flatMap(({ link, items = [] }) => [link, ...items.map((item) => item.link)]),
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
