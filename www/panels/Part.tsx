/** A part of the page whose code comes when it is first shown, and what stands there until then or when it does not come. */
import { ErrorBoundary, type JSX, Suspense } from "solid-js";

export function Part(props: { waiting?: string; children: JSX.Element }) {
  return (
    <ErrorBoundary
      fallback={
        <p class="pad wrong" role="alert">
          This part of the page could not be loaded. Reload the page.
        </p>
      }
    >
      <Suspense fallback={props.waiting ? <p class="quiet pad">{props.waiting}</p> : undefined}>
        {props.children}
      </Suspense>
    </ErrorBoundary>
  );
}
