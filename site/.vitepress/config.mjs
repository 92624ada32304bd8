import { defineConfig } from 'vitepress';
import { anchorOf } from '../scripts/links.mjs';
import { pages } from '../scripts/pages.mjs';
import { read } from '../scripts/repository.mjs';
import { sidebar } from './sidebar.mjs';

const base = process.env.SITE_BASE || '/';

const { version, repository } = JSON.parse(read('packages/core/package.json'));
const REPOSITORY = repository.url.replace(/^git\+|\.git$/g, '');
/** The documents from which pages are made, by the paths of the pages. Pages of the API have none. */
const sourceOf = new Map(pages().map(({ path, source }) => [path, source]));

export default defineConfig({
  title: 'Accelerate for TensorFlow.js',
  description: 'Train an existing tfjs program on every core and every host.',
  lang: 'en',
  head: [['link', { rel: 'icon', type: 'image/svg+xml', href: `${base}icon.svg` }]],
  base,
  srcDir: '.generated/pages',
  outDir: 'dist',
  cacheDir: '.generated/cache',
  // Pages have few changes a day, and a clone in CI has no history.
  lastUpdated: false,
  metaChunk: true,
  // As on GitHub, where the same documents are read.
  markdown: { anchor: { slugify: anchorOf } },
  transformPageData(page) {
    const source = sourceOf.get(page.relativePath);
    if (source === undefined) page.frontmatter.editLink = false;
    else page.filePath = source;
  },
  themeConfig: {
    socialLinks: [{ icon: 'github', link: REPOSITORY, ariaLabel: 'Repository' }],
    editLink: { pattern: `${REPOSITORY}/edit/main/:path`, text: 'Edit this page' },
    footer: { message: `Version ${version} · Apache-2.0` },
    nav: [
      { text: 'Start', link: '/start' },
      { text: 'Tutorial', link: '/learn/tutorial' },
      { text: 'Guide', link: '/guide/data' },
      { text: 'Concepts', link: '/concepts/data-parallel' },
      { text: 'API', link: '/api/' },
      { text: 'Troubleshooting', link: '/errors/' },
      { text: version, link: '/project/versions' },
    ],
    sidebar: sidebar(),
    outline: { level: [2, 3] },
    search: {
      provider: 'local',
      options: {
        // Reports of benchmarks have many figures and few words.
        _render: (source, env, md) => (env.relativePath.startsWith('results/') ? '' : md.render(source, env)),
      },
    },
    docFooter: { prev: 'Previous', next: 'Next' },
  },
});
