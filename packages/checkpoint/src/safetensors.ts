// The format alone, without storage: an entry that also loads in pages.
export { elementBytes, elementsOf, isStoredDtype, type StoredDtype } from './format/dtypes.js';
export {
  encodeHeader,
  headerLength,
  LENGTH_BYTES,
  parseHeader,
  type Entry,
  type Header,
  type StoredEntry,
} from './format/safetensors.js';
