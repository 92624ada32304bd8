import { defineConfig } from 'vitepress';
import { anchorOf } from '../scripts/links.mjs';
import { sidebar } from './sidebar.mjs';

const base = process.env.SITE_BASE || '/';

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
  themeConfig: {
    nav: [
      { text: 'Start', link: '/start' },
      { text: 'Guide', link: '/guide/data' },
      { text: 'Concepts', link: '/concepts/data-parallel' },
      { text: 'API', link: '/api/' },
      { text: 'Troubleshooting', link: '/errors/' },
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
