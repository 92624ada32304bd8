export function pages(): { readonly path: string; readonly source: string }[];
export function pageTexts(): Map<string, string>;
