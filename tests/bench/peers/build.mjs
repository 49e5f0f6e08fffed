// One file from cornerstone.js and what it imports. vtk.js pulls in a Node library for XML that browsers cannot run and
// that nothing here calls; whatever else is meant for Node becomes an empty module too.

import { build } from "esbuild";

const NODE_ONLY = /^(xmlbuilder2|events|url|fs|path|crypto|buffer|stream|util|zlib)$/;

const withoutNode = {
  name: "without-node",
  setup({ onResolve, onLoad }) {
    onResolve({ filter: NODE_ONLY }, ({ path }) => ({ path, namespace: "nothing" }));
    onLoad({ filter: /.*/, namespace: "nothing" }, () => ({
      contents: "module.exports = { create() {}, EventEmitter: class {} };",
    }));
  },
};

await build({
  entryPoints: ["cornerstone.js"],
  outfile: process.argv[2],
  bundle: true,
  minify: true,
  format: "esm",
  target: "es2022",
  define: { global: "globalThis", "process.env.NODE_ENV": '"production"' },
  plugins: [withoutNode],
  logLevel: "error",
});
