/** Stylesheets are imports of the bundler. */
declare module '*.css';
