/** The theme: that of VitePress with the fonts of the system, and the choice of a version. */
import DefaultTheme from 'vitepress/theme-without-fonts';
import { h } from 'vue';
import './style.css';
import Try from './Try.vue';
import Versions from './Versions.vue';

export default {
  extends: DefaultTheme,
  enhanceApp: ({ app }) => {
    app.component('Try', Try);
  },
  Layout: () =>
    h(DefaultTheme.Layout, null, {
      'nav-bar-content-after': () => h(Versions, { class: 'in-bar' }),
      'nav-screen-content-after': () => h(Versions, { class: 'in-screen' }),
    }),
};
