export { imageFolder, type ImageFolder, type ImageSample } from './image-folder/image-folder.js';
export type { ImageFolderOptions, PixelOptions } from './image-folder/options.js';
