/**
 * The text of a page for the search index. `keywords` of its frontmatter are found with its title.
 */
export function renderForSearch(source, env, md) {
  // Reports of benchmarks have many figures and few words.
  if (env.relativePath.startsWith('results/')) return '';
  const html = md.render(source, env);
  const { keywords } = env.frontmatter ?? {};
  return keywords === undefined ? html : html.replace('</h1>', `</h1><p>${keywords}</p>`);
}

/**
 * Pages on how to do something come before the reference, and a page's title before those of its
 * sections. It runs in the reader's browser, by its text alone.
 *
 * @param id The path of a section of a page.
 */
export function boostDocument(id, term, { titles }) {
  const isPage = titles.length === 0 ? 2 : 1;
  const isGuide = /\/(start|install|support|performance)\b|\/(guide|learn)\//;
  if (isGuide.test(id)) return 8 * isPage;
  if (/\/(concepts|coming-from|errors|write)\//.test(id)) return 3 * isPage;
  return (/\/api\//.test(id) ? 0.5 : 1) * isPage;
}
