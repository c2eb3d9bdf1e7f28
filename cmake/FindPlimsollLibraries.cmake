# The libraries that libplimsoll.a needs and that are found by name: libxsmm's generator and Highway.
# Read by the build, and by find_package(Plimsoll) where it is installed.
find_library(PLIMSOLL_XSMMGEN xsmmgen)
find_library(PLIMSOLL_HWY hwy)
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(PlimsollLibraries REQUIRED_VARS PLIMSOLL_XSMMGEN PLIMSOLL_HWY)
if(PlimsollLibraries_FOUND AND NOT TARGET Plimsoll::xsmmgen)
  add_library(Plimsoll::xsmmgen UNKNOWN IMPORTED)
  set_target_properties(Plimsoll::xsmmgen PROPERTIES IMPORTED_LOCATION ${PLIMSOLL_XSMMGEN})
  add_library(Plimsoll::hwy UNKNOWN IMPORTED)
  set_target_properties(Plimsoll::hwy PROPERTIES IMPORTED_LOCATION ${PLIMSOLL_HWY})
endif()
