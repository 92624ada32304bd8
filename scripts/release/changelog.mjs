// How changesets writes CHANGELOG.md: what users notice, without commit hashes. All packages move
// together, so a list of the packages that depend on each other would say nothing.

/** A changeset in CHANGELOG.md: a list item, or as it is written if it has headings or several paragraphs. */
export const getReleaseLine = async ({ summary }) => {
  const text = summary.trim();
  return /\n\n/.test(text) ? `${text}\n` : `- ${text.replaceAll('\n', '\n  ')}`;
};

export const getDependencyReleaseLine = async () => '';
