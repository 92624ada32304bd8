export * from '@acc/formats/text';
