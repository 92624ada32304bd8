export { imageFolder, type ImageFolder, type ImageSample } from './image-folder.js';
export type { ImageFolderOptions, PixelOptions } from './options.js';
