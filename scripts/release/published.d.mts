import type { PackedManifest } from './packed-manifest.mjs';
export const publishedFolders: readonly string[];
export function packedManifestOf(folder: string, packages?: string): PackedManifest;
