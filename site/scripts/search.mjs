/**
 * The text of a page for the search index. `keywords` of its frontmatter are found with its title.
 */
export function renderForSearch(source, env, md) {
  // Reports of benchmarks have many figures and few words.
  if (env.relativePath.startsWith('results/')) return '';
  const html = env.relativePath.startsWith('api/')
    ? withHeadingsOfRows(md.render(source, env))
    : md.render(source, env);
  const { keywords } = env.frontmatter ?? {};
  return keywords === undefined ? html : html.replace('</h1>', `</h1><p>${keywords}</p>`);
}

/** Properties are rows of tables. In the index they are found by name, as functions are by their heading. */
function withHeadingsOfRows(html) {
  return html.replaceAll(
    /<td><a id="(property-[^"]+)"><\/a> <code[^>]*>([^<]+)<\/code>/g,
    (row, id, name) => `<h4>${name.replace('?', '')} <a class="header-anchor" href="#${id}">#</a></h4>${row}`,
  );
}

/**
 * The words of a text, as MiniSearch divides it, and those of a title also as a whole: `=setseed`. The
 * words of a query have that, too, so a heading that equals the query is found by it. The name of an
 * error has it also without `ACC`: `=out of memory`. It runs in the reader's browser, by its text alone.
 *
 * @param field The field of the index, or undefined for a query.
 */
export function tokenize(text, field) {
  const words = text.split(/[\n\r\p{Z}\p{P}]+/u);
  if (field !== undefined && field !== 'title') return words;
  const whole = text
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]+/gu, ' ')
    .trim();
  const ofError = /^ACC_/.test(text) ? [`=${whole.slice('acc '.length)}`] : [];
  return [...words, `=${whole}`, ...ofError];
}

/** Words are also found by their beginning, and long ones with a typing error. Whole titles are not. */
export function isWord(term) {
  return !term.startsWith('=');
}

/** A short word with another letter is another word: gan, can, an. */
export function fuzziness(term) {
  return term.startsWith('=') || term.length < 5 ? false : 0.2;
}

/**
 * Pages on how to do something come before the reference, and a page's title before those of its
 * sections. It runs in the reader's browser, by its text alone.
 *
 * @param id The path of a section of a page.
 */
export function boostDocument(id, term, { title = '', titles }) {
  const isPage = titles.length === 0 ? 3.5 : 1;
  const isGuide = /\/(start|install|support|performance)\b|\/(guide|learn)\//;
  const isWritten = isGuide.test(id) || /\/(concepts|coming-from|errors|write)\//.test(id);
  // A heading that equals the query. A plain word is rather that of a guide than the name of a function.
  const isPlain = !/[A-Z]/.test(title.slice(1));
  if (term.startsWith('=')) {
    if (!/\/api\//.test(id)) return isWritten ? 20 : 5;
    const ofCore = /\/api\/core\//.test(id) ? 40 : 20;
    return (ofCore * (/#property-/.test(id) ? 0.5 : 1)) / (isPlain ? 20 : 1);
  }
  if (isGuide.test(id)) return 8 * isPage;
  if (isWritten) return 3 * isPage;
  return (/\/api\//.test(id) ? 0.5 : 1) * isPage;
}
