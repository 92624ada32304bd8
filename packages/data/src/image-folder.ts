export { imageFolder, type ImageFolder, type ImageSample } from './formats/image-folder/image-folder.js';
export type { ImageFolderOptions, PixelOptions } from './formats/image-folder/options.js';
