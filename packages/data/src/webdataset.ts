export * from '@acc/formats/webdataset';
