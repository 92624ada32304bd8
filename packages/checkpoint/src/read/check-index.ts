import { intersection } from '../format/boxes.js';
import { elementBytes, elementsOf, isCountable } from '../format/dtypes.js';
import type { Index, StoredFile, StoredPart, StoredTensor } from '../format/manifest.js';

/**
 * Checks what an index states of its tensors: the sizes of their parts, where they lie in their
 * files, and the number of checksums. What is read into memory relies on it.
 *
 * @throws RangeError
 */
export function checkIndex({ files, tensors, ranks, worldSize, chunkBytes }: Index): void {
  if (worldSize === 0 || ranks.length !== worldSize) {
    throw new RangeError(`it states ${worldSize} ranks, and has the states of ${ranks.length}`);
  }
  const byName = new Map(files.map((file) => [file.name, file]));
  if (byName.size !== files.length) throw new RangeError('it lists a file twice');
  for (const [name, tensor] of Object.entries(tensors)) {
    if (!isCountable(tensor.shape, tensor.dtype))
      throw new RangeError(`the shape of '${name}' has too many elements`);
    tensor.parts.forEach((part, i) => {
      const problem = problemOf(part, tensor, byName.get(part.file), chunkBytes);
      if (problem) throw new RangeError(`part ${i} of '${name}': ${problem}`);
    });
    requireComplete(name, tensor);
  }
}

function problemOf(
  { offset, sizes, file, start, crc32 }: StoredPart,
  { shape, dtype }: StoredTensor,
  stored: StoredFile | undefined,
  chunkBytes: number,
): string | undefined {
  const isInside =
    offset.length === shape.length &&
    sizes.length === shape.length &&
    shape.every((length, dim) => offset[dim]! + sizes[dim]! <= length);
  if (!isInside) return `its elements lie outside of the shape [${shape.join()}]`;
  const bytes = elementsOf(sizes) * elementBytes(dtype);
  if (!stored) return `its file ${file} is not listed`;
  if (start + bytes > stored.bytes) return `it ends at byte ${start + bytes} of ${stored.bytes} in ${file}`;
  if (chunkBytes === 0 && bytes > 0) return 'its blocks have no bytes';
  const chunks = bytes === 0 ? 0 : Math.ceil(bytes / chunkBytes);
  // A part without elements may have the checksum of no bytes.
  const isChecked = crc32.length === chunks || (chunks === 0 && crc32.length <= 1);
  return isChecked ? undefined : `it has ${crc32.length} checksums for ${chunks} blocks`;
}

/** Each element is in one part. Otherwise memory would be taken that nothing fills. */
function requireComplete(name: string, { parts, shape }: StoredTensor): void {
  const present = parts.reduce((sum, { sizes }) => sum + elementsOf(sizes), 0);
  const expected = elementsOf(shape);
  if (present !== expected)
    throw new RangeError(`'${name}' has ${expected} elements, and its parts ${present}`);
  parts.forEach((part, i) => {
    const other = parts.findIndex((before, j) => j < i && intersection(before, part));
    if (other >= 0) throw new RangeError(`parts ${other} and ${i} of '${name}' have elements in common`);
  });
}
