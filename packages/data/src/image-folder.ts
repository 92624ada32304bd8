export * from '@acc/formats/image-folder';
