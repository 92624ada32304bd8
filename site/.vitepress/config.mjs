import { defineConfig } from 'vitepress';
import { withIndents } from '../scripts/code.mjs';
import { anchorOf } from '../scripts/links.mjs';
import { pages } from '../scripts/pages.mjs';
import { read } from '../scripts/repository.mjs';
import { boostDocument, fuzziness, isWord, renderForSearch, tokenize } from '../scripts/search.mjs';
import { sidebars } from './sidebar.mjs';

const base = process.env.SITE_BASE || '/';
const { version, license, repository } = JSON.parse(read('packages/core/package.json'));
const home = repository.url.replace(/^git\+|\.git$/g, '');
const sources = new Map(pages().map(({ path, source }) => [path, source]));

export default defineConfig({
  title: 'Accelerate for TensorFlow.js',
  description: 'Train an existing TensorFlow.js program on every core and every host, with three lines.',
  lang: 'en',
  head: [
    ['link', { rel: 'icon', type: 'image/svg+xml', href: `${base}logo.svg` }],
    ['meta', { name: 'theme-color', content: '#f57c00' }],
  ],
  base,
  srcDir: '.generated/pages',
  outDir: 'dist',
  cacheDir: '.generated/cache',
  // Pages have few changes a day, and a clone in CI has no history.
  lastUpdated: false,
  metaChunk: true,
  // As on GitHub, where the same documents are read.
  markdown: { anchor: { slugify: anchorOf }, codeTransformers: [withIndents] },
  transformPageData({ relativePath, frontmatter }) {
    const filePath = sources.get(relativePath);
    // Pages of the API have no document.
    return filePath ? { filePath } : { frontmatter: { ...frontmatter, editLink: false } };
  },
  themeConfig: {
    logo: '/logo.svg',
    siteTitle: 'Accelerate',
    nav: [
      { text: 'Get started', link: '/start' },
      { text: 'Tutorial', link: '/learn/tutorial' },
      { text: 'Guide', link: '/guide/data' },
      { text: 'API', link: '/api/', activeMatch: '^/api/' },
      { text: 'Troubleshooting', link: '/errors/', activeMatch: '^/errors/' },
      {
        text: `v${version}`,
        activeMatch: '^/(packages|design|project|results)/',
        items: [
          { text: 'Performance', link: '/performance' },
          { text: 'Versions and changelog', link: '/project/versions' },
          { text: 'Packages', link: '/project/packages' },
          { text: 'Architecture', link: '/project/architecture' },
          { text: 'Contributing', link: '/project/contributing' },
          { text: 'Security', link: '/project/security' },
        ],
      },
    ],
    sidebar: sidebars(),
    outline: { level: [2, 3] },
    socialLinks: [{ icon: 'github', link: home }],
    editLink: { pattern: `${home}/edit/main/:path`, text: 'Edit this page' },
    footer: { message: `${license} · Version ${version}` },
    search: {
      provider: 'local',
      options: {
        _render: renderForSearch,
        // Rows have an excerpt.
        detailedView: true,
        miniSearch: {
          options: { tokenize },
          searchOptions: { boostDocument, prefix: isWord, fuzzy: fuzziness },
        },
      },
    },
    docFooter: { prev: 'Previous', next: 'Next' },
  },
});
