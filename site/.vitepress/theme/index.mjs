// The theme without its fonts: pages use those of the reader's system.
import { h } from 'vue';
import DefaultTheme from 'vitepress/theme-without-fonts';
import { promise } from '../../figures/promise.mjs';
import './site.css';

/** The picture beside the title of the home page. */
const picture = () => h('div', { class: 'promise', innerHTML: promise().svg });

export default {
  extends: DefaultTheme,
  Layout: () => h(DefaultTheme.Layout, null, { 'home-hero-image': picture }),
};
