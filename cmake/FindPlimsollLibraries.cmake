# The library that libplimsoll.a needs and that is found by name: libxsmm's generator.
# Read by the build, and by find_package(Plimsoll) where it is installed.
find_library(PLIMSOLL_XSMMGEN xsmmgen)
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(PlimsollLibraries REQUIRED_VARS PLIMSOLL_XSMMGEN)
if(PlimsollLibraries_FOUND AND NOT TARGET Plimsoll::xsmmgen)
  add_library(Plimsoll::xsmmgen UNKNOWN IMPORTED)
  set_target_properties(Plimsoll::xsmmgen PROPERTIES IMPORTED_LOCATION ${PLIMSOLL_XSMMGEN})
endif()
