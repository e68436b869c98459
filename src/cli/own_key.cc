#include "cli/own_key.h"

#include "cli/run_options.h"
#include "engine/seal_source.h"
#include "store/place.h"

namespace cloche::cli {

tree::KeySource own_key() {
  return seal_source([] { return store::find_place(read_environment()); });
}

}  // namespace cloche::cli
