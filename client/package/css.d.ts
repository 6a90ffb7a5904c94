// A style sheet as text, as `build.mjs` bundles it.
declare module "*.css" {
  const text: string;
  export default text;
}
